"""Who runs a stage?"""
