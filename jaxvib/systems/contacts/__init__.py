"""Contact laws beyond the elastic ones of Hertz and of a linear stop, a law a file."""
