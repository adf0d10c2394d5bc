"""What runs next? One function a step, and the round driver that repeats them."""
