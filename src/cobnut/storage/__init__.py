"""Where does a table live, and which version of it is current?"""
