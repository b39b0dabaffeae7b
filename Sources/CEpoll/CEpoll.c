// The module is header-only; SwiftPM wants a source file.
#include "CEpoll.h"
