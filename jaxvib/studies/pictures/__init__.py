"""Building blocks of pictures, common to all studies."""
