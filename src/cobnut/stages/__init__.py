"""What are the steps of the line? One module a stage, its SQL beside it; no stage imports another."""
