#!/bin/sh
# Speaks the sample questions with flite (apt install flite) into public/questions/.
# Run by hand when a question changes; the WAV files are committed.
set -eu
cd "$(dirname "$0")/public/questions"

speak() {
    flite -voice slt -t "$2" -o "$1.wav"
}

speak hours "What are your opening hours?"
speak book "I would like to book an appointment on Tuesday at three thirty. My name is Peter Miller."
speak when "When is my appointment?"
speak goodbye "Thank you, goodbye."
