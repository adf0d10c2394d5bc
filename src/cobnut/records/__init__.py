"""What are the nouns? Tables and their columns, stages and their steps, outcomes and reasons.

Nothing here reads or writes a file, and nothing here imports a heavy library before it is asked for a schema.
"""
