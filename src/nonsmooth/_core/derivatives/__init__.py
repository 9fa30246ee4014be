"""Derivatives of model functions inside compiled loops."""
