"""The worker: takes turns from the queue and runs them, one at a time in each conversation."""
