-- A crawler's miss at a node with a free slot: checks the quota, queues or joins the live job, and claims jobs by the
-- rules of `claim_from_lanes` (maybe not that job). $5: the monthly limit of each plan. $7: how long its crawler waits, in ms.
with quota as (
  -- An unknown plan allows nothing.
  select over_quota(coalesce(c.renders, 0), coalesce(($5::jsonb ->> a.plan)::bigint, 0)) as is_over
    from domain d
    join account a on a.id = d.account_id
    left join render_count c on c.domain_id = d.id and c.month = $6
   where d.id = $1
), asked as materialized (
  select is_over,
         case when not is_over then enqueue_live_job($1, $2, $17, $3, $4, $7 * interval '1 millisecond', $16) end as asked_id
    from quota
)
select asked.*, claimed.*
  from asked
  left join lateral (
    -- `offset 0` keeps the planner from inlining this: without a job the function is not called.
    select found.* from (select $9::integer as slots where asked.asked_id is not null offset 0) as room,
           lateral claim_from_lanes($8, room.slots, $10, $11, $12, $13, $14, $15 * interval '1 millisecond', $6, '{}', 0) as found
  ) as claimed on true
