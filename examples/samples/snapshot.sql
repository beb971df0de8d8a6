-- Computes the totals of each step and arm. $1: the change, $2: the end of the period, $3: the plan's upper bound of revenue.
with first_seen as (
  select distinct on (step, user_id) step, user_id, arm, at
  from exposures where change_id = $1 and at <= $2
  order by step, user_id, at
), ends as (
  -- A step ends when the first user is exposed in the next one.
  select step, lead(min(at)) over (order by step) as until
  from exposures where change_id = $1 group by step
), users as (
  select seen.step, seen.arm, seen.user_id,
    count(bought.user_id) > 0 as bought,
    least(coalesce(sum(bought.value), 0), $3) as revenue
  from first_seen seen join ends using (step)
  left join events bought on bought.user_id = seen.user_id and bought.name = 'purchase'
    and bought.at >= seen.at and bought.at <= $2 and bought.at < coalesce(ends.until, 'infinity')
  group by seen.step, seen.arm, seen.user_id
)
select step, arm, count(*)::int as n, count(*) filter (where bought)::int as bought,
  sum(revenue) as revenue, sum(revenue * revenue) as revenue2
from users group by step, arm order by step, arm;
