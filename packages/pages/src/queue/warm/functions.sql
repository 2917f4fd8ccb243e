-- Counts each ended job, however it ended. It runs after the statement, when all rows of jobs are locked, so that
-- nothing waits for a job while it has the counts locked.
create or replace function count_warmed() returns trigger language plpgsql as $$
begin
  update warm_count set
    done = done + (new.state = 'done')::integer,
    unchanged = unchanged + (new.state = 'done' and new.detail is not distinct from 'unchanged')::integer,
    failed = failed + (new.state <> 'done')::integer
   where domain_id = new.domain_id and run = new.warm;
  return null;
end
$$;
create or replace trigger job_counts_for_warm after update of state on job for each row
  when (new.warm is not null and old.state in ('queued', 'running') and new.state in ('done', 'failed', 'cancelled'))
  execute function count_warmed();
create or replace trigger job_ended_counts_for_warm after insert on job_ended for each row
  when (new.warm is not null) execute function count_warmed();
