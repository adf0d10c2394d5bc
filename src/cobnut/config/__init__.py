"""What was set, by whom, and is it sane?"""
