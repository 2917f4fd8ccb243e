-- What the node still has; a job that is missing in the answer was taken away.
update job set lease_until = now() + $2 * interval '1 millisecond'
 where node = $1 and state = 'running'
returning id, attempts
