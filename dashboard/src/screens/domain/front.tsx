import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useState } from 'react'

import { integrationQuery } from '../../api/queries.ts'
import type { DomainWithSettings, Integration } from '../../api/types.ts'
import { Facts, Section } from '../../parts/page.tsx'
import { Loaded, Loading } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { CheckNow } from './check-now.tsx'
import { DnsInstructions } from './dns.tsx'
import classes from './front.module.css'
import { SeenDot } from './seen-dot.tsx'
import { useWay } from './use-way.ts'
import { WayChoice } from './way-choice.tsx'

const FrontSetup = lazy(() => import('./front-setup.tsx'))

const WAITING_POLL_MS = 1_500
const SEEN_POLL_MS = 10_000

/** By which way crawlers come to the domain, with a check, and how to change that. */
export function FrontSection({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const found = useQuery({
    ...integrationQuery(name),
    refetchInterval: ({ state }) => (state.data?.state === 'not_seen' ? WAITING_POLL_MS : SEEN_POLL_MS),
  })
  return (
    <div id="connect">
      <Section
        title="How crawlers come"
        lead="By the DNS, or sent by the site's own web server, CDN or application."
      >
        <Loaded query={found} rows={3}>
          {(integration) => (
            <>
              <FrontState integration={integration} />
              <CheckNow domain={name} />
              <Connection domain={domain} isSeen={integration.state !== 'not_seen'} />
            </>
          )}
        </Loaded>
      </Section>
    </div>
  )
}

function FrontState({ integration: { state, ways, refused } }: { integration: Integration }) {
  const rows: [string, ReactNode][] = []
  for (const [label, seen] of [
    ['By the DNS or a proxy', ways.proxy],
    ['By a middleware', ways.middleware],
  ] as const) {
    if (seen === null) continue
    rows.push([
      label,
      <span key={label} className="break">
        {seen.crawler} asked for {seen.path}, <TimeText at={seen.last_at} />; {seen.visits_24h} in 24 hours
        {seen.int_type === null ? '' : `; ${seen.int_type} ${seen.int_version ?? ''}`}
      </span>,
    ])
  }
  if (refused !== null) {
    rows.push([
      'Refused',
      <span key="refused" className="break">
        {refused.count} in 24 hours, last <TimeText at={refused.last_at} />: {refused.reason}
      </span>,
    ])
  }
  return (
    <Stack gap="sm">
      <Group gap="xs" role="status" wrap="nowrap" className={classes.state}>
        <SeenDot isSeen={state !== 'not_seen'} />
        <Text size="sm" fw={600}>
          {stateText(state, ways)}
        </Text>
      </Group>
      {rows.length > 0 && <Facts rows={rows} />}
    </Stack>
  )
}

function stateText(state: Integration['state'], ways: Integration['ways']): string {
  switch (state) {
    case 'proxy': {
      const front = ways.proxy?.int_type ?? null
      return front === null ? 'Crawlers reach Prepaint directly' : `Requests come through your ${front}`
    }
    case 'middleware': {
      const front = ways.middleware?.int_type ?? null
      return front === null ? 'The middleware of your site asks for pages' : `Your ${front} asks for pages`
    }
    case 'not_seen':
      return ways.proxy === null && ways.middleware === null
        ? 'No crawler has come yet'
        : 'No crawler came in the last 7 days'
  }
}

/** The choice of the way, and its instructions, which are folded once crawlers come. */
function Connection({ domain, isSeen }: { domain: DomainWithSettings; isSeen: boolean }) {
  const name = domain.custom_domain
  const [wasOpened, setOpened] = useState<boolean | null>(null)
  const isOpen = wasOpened ?? !isSeen
  const { way, isBusy, choose } = useWay(domain)
  if (!isOpen) {
    return (
      <Group>
        <Button variant="subtle" size="xs" onClick={() => setOpened(true)}>
          Show the instructions
        </Button>
      </Group>
    )
  }
  return (
    <Stack gap="lg">
      <WayChoice
        value={way}
        isBusy={isBusy}
        onChange={(next) => {
          // They stay open while a way is chosen, though a crawler comes.
          setOpened(true)
          choose(next)
        }}
      />
      {way === 'dns' ? (
        <DnsInstructions domain={name} />
      ) : (
        <Suspense fallback={<Loading rows={3} />}>
          <FrontSetup domain={domain} />
        </Suspense>
      )}
    </Stack>
  )
}
