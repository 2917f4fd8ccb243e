-- Whether the job is still this node's. Locks its row: a later purge waits and deletes the stored page, an earlier one
-- has marked the job superseded. A result lost in a server crash is rendered again.
select superseded, priority, set_config('synchronous_commit', 'off', true)
  from job
 where id = $1 and node = $2 and attempts = $3 and state = 'running'
   for update
