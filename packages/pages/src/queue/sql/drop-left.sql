-- Takes live jobs out of the queue whose crawlers have all disconnected. One that runs, or that a crawler has joined
-- meanwhile, stays. Skips locked rows, which are being claimed or joined.
delete from job where id in (
  select id from job
   where id = any ($1) and state = 'queued' and priority = 0 and waiters <= 0 and is_for_waiting
     for update skip locked)
