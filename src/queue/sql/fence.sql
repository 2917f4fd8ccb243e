-- Whether the job is still ours, with its row locked for the rest of the transaction: a purge that comes now
-- waits for us and then deletes what we store; one that came before has marked the job superseded.
-- A result need not survive the server: the page would be rendered again.
select superseded, priority, set_config('synchronous_commit', 'off', true)
  from job
 where id = $1 and node = $2 and attempts = $3 and state = 'running'
   for update
