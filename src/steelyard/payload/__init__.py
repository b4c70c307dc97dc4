"""A body on a force/torque sensor or on the flange: weighed alone, with the robot known or not."""
