"""What the data and the physics say is wrong: findings about an estimate and its logs."""
