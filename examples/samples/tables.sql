-- Each exposure of a user to an arm of a rollout, as exposure_hook.mjs logs it.
create table exposures (
  change_id text not null,
  step integer not null,
  arm text not null check (arm in ('treated', 'control')),
  user_id text not null,
  at timestamptz not null default now()
);
create index on exposures (change_id, step, user_id, at);

-- What users did, such as a purchase with its value.
create table events (
  user_id text not null,
  name text not null,
  value double precision not null default 0,
  at timestamptz not null default now()
);
create index on events (user_id, at);
