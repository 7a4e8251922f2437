"""Networks of life and death: what they see, their files, training, measuring, answering."""
