-- Live jobs that nobody has taken, in the order in which they will be, and how many renders of their domains run.
select j.id, j.domain_id, (select count(*)::int from job r where r.domain_id = j.domain_id and r.state = 'running') as running
  from job j
 where j.state = 'queued' and j.priority = 0 and j.run_at <= clock_timestamp()
 order by j.priority, j.turn, j.id limit $1
