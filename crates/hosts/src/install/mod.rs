//! Getting into the hosts' own settings files, and out of them again.
