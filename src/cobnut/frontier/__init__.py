"""Which URL next, what became of it, and when again?"""
