// Contender: Pinocchio's rnea in a compiled loop. Usage: MODEL STATES REPEATS
//
// MODEL is a text file: per joint its parent, "RX", "RY", "RZ" or "R" (about any axis), the axis,
// the placement (rotation by rows, position), mass, centre of mass and inertia about it (xx, xy,
// yy, xz, yz, zz). STATES and what is printed are as in code_loop.c. The library is the one that
// Python uses, with rnea as instantiated in it.

#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

using Eigen::Vector3d;
using Eigen::VectorXd;

static pinocchio::Model read_model(const char *path)
{
    pinocchio::Model model;
    std::ifstream file(path);
    std::size_t parent;
    std::string kind;
    while (file >> parent >> kind) {
        std::array<double, 25> x;
        for (double &entry : x) file >> entry;
        Eigen::Matrix3d R, I;
        R << x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11];
        I << x[19], x[20], x[22], x[20], x[21], x[23], x[22], x[23], x[24];
        const pinocchio::SE3 place(R, Vector3d(x[12], x[13], x[14]));
        const pinocchio::Inertia body(x[15], Vector3d(x[16], x[17], x[18]), I);
        const std::string name = "joint_" + std::to_string(model.njoints);
        pinocchio::JointIndex id;
        if (kind == "RX") id = model.addJoint(parent, pinocchio::JointModelRX(), place, name);
        else if (kind == "RY") id = model.addJoint(parent, pinocchio::JointModelRY(), place, name);
        else if (kind == "RZ") id = model.addJoint(parent, pinocchio::JointModelRZ(), place, name);
        else id = model.addJoint(
            parent, pinocchio::JointModelRevoluteUnaligned(x[0], x[1], x[2]), place, name);
        model.appendBodyToJoint(id, body, pinocchio::SE3::Identity());
    }
    return model;
}

static double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e9 * double(now.tv_sec) + double(now.tv_nsec);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    const pinocchio::Model model = read_model(argv[1]);
    pinocchio::Data data(model);
    std::vector<VectorXd> q, v, a;
    std::ifstream file(argv[2], std::ios::binary);
    VectorXd row(3 * model.nv);
    while (file.read(reinterpret_cast<char *>(row.data()), sizeof(double) * row.size())) {
        q.push_back(row.head(model.nv));
        v.push_back(row.segment(model.nv, model.nv));
        a.push_back(row.tail(model.nv));
    }
    double sum = 0.0;
    for (int repeat = std::atoi(argv[3]); repeat > 0; --repeat) {
        const double begin = now_ns();
        for (std::size_t i = 0; i < q.size(); ++i)
            sum += pinocchio::rnea(model, data, q[i], v[i], a[i]).sum();
        std::printf("%.17g\n", (now_ns() - begin) / double(q.size()));
    }
    std::fprintf(stderr, "%g\n", sum);
    const VectorXd &tau = pinocchio::rnea(model, data, q[0], v[0], a[0]);
    for (int k = 0; k < model.nv; ++k) std::printf("%.17g ", tau[k]);
    return 0;
}
