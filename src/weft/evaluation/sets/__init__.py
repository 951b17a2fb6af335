"""Standard data sets by name, and the tasks of public sets."""
