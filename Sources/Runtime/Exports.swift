// Whoever has the runtime has its lock.
@_exported import Locks
