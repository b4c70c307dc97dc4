/* Contender: the written header in a loop. Usage: STATES REPEATS

   STATES holds q, v, a (7 doubles each) of states one after the other. Prints the nanoseconds
   of processor time of one evaluation, one line per repeat, then the torques of the first state. */

#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arm.h"

#define MOST 10000
static double states[MOST][3][7];

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) return 2;
    const long n = (long)fread(states, sizeof states[0], MOST, file);
    fclose(file);
    double tau[7], sum = 0.0;
    for (int repeat = atoi(argv[2]); repeat > 0; --repeat) {
        struct timespec begin, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        for (long i = 0; i < n; ++i) {
            arm_torque(states[i][0], states[i][1], states[i][2], tau);
            for (int k = 0; k < 7; ++k) sum += tau[k];
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        const double ns = 1e9 * (double)(end.tv_sec - begin.tv_sec)
            + (double)(end.tv_nsec - begin.tv_nsec);
        printf("%.17g\n", ns / (double)n);
    }
    fprintf(stderr, "%g\n", sum); /* used, so that the loop is not left out */
    arm_torque(states[0][0], states[0][1], states[0][2], tau);
    for (int k = 0; k < 7; ++k) printf("%.17g ", tau[k]);
    return 0;
}
