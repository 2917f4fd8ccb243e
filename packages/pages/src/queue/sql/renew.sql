-- Returns what the node still has: a missing job was taken away.
update job set lease_until = now() + $2 * interval '1 millisecond'
 where node = $1 and state = 'running'
returning id, attempts
