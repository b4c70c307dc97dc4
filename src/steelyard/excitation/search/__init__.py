"""The search for exciting sums of sines: criteria, gradients, the interior-point method."""
