"""Adversarial evaluation: can a reader tell what a model has written from what people have (Table 4)?"""
