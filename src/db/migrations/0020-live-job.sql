-- A live job and the request that it is made for, in one step. Written in a second one, the name of the request had
-- the row locked while the node that the first had woken looked for work: `claim_jobs` skips what is locked, and the
-- crawler waited for the next poll, up to a second.
create function enqueue_live_job(for_domain integer, for_path text, bound bigint, for_request text) returns uuid
language plpgsql as $$
declare
  asked uuid;
begin
  select job_id into asked from enqueue_jobs(for_domain, array[for_path], 0::smallint, bound);
  update job set request_id = for_request where id = asked and request_id is null;
  return asked;
end
$$;
