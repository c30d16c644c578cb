//! The program as its users run it: exit code, standard output and standard error in one snapshot.

mod show;
