"""The parts of tools/mutants.py: what a mutant changes, and which tests reach a line."""
