"""The models: one folder for each family of the paper, and `common` for what families share."""
