"""What pictures are made of, whatever study they show."""
