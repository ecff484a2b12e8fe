"""Programs that the agent starts: a Python program among them is answered from the record like the agent itself.

`broker` stands in the agent's process and passes questions on, `path/sitecustomize.py` is found by the started program,
`program` runs it with every boundary in place. What is no Python program stays what it is: its network is closed.
"""
