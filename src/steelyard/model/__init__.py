"""`Model`: a robot plus the terms of its joint torque; compiled kernels; base parameters."""
