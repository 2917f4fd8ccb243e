import { Button, Group, Stack, Text } from '@mantine/core'
import type { IntegrationCheck } from '@prepaint/contract/api/fronts.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { domainUrl, integrationQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Integration } from '../../api/types.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Facts, Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

/** By which way crawlers come to the domain, with a check, and the token for a front of the site. */
export function FrontSection({ domain }: { domain: string }) {
  const found = useQuery({ ...integrationQuery(domain), refetchInterval: 5_000 })
  return (
    <Section
      title="How crawlers come"
      lead="By the DNS, or sent by the site's own web server, CDN or application."
    >
      <Loaded query={found} rows={3}>
        {(integration) => <FrontState integration={integration} />}
      </Loaded>
      <CheckNow domain={domain} />
      <SiteToken domain={domain} />
    </Section>
  )
}

const STATES: Record<Integration['state'], string> = {
  proxy: 'Crawlers’ requests come here themselves',
  middleware: 'The site’s own front asks for pages',
  not_seen: 'No crawler was seen in the last 7 days',
}

function FrontState({ integration: { state, ways, refused } }: { integration: Integration }) {
  const rows: [string, ReactNode][] = [['State', STATES[state]]]
  for (const [label, seen] of [
    ['Requests themselves', ways.proxy],
    ['Asked by a front', ways.middleware],
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
      <span key="refused">
        {refused.count} in 24 hours, last <TimeText at={refused.last_at} />: {refused.reason}
      </span>,
    ])
  }
  return <Facts rows={rows} />
}

function CheckNow({ domain }: { domain: string }) {
  const queries = useQueryClient()
  const check = useMutation({
    mutationFn: () =>
      request<{ check: IntegrationCheck }>('POST', `${domainUrl(domain)}/integration/check`, { body: {} }),
    onSuccess: () => queries.invalidateQueries({ queryKey: integrationQuery(domain).queryKey }),
    onError: (error) => notifyFailed('The site could not be checked', error),
  })
  return (
    <Group>
      <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate()}>
        Check now
      </Button>
      {check.data !== undefined && (
        <Text size="sm" role="status">
          {checkWords(check.data.check)}
        </Text>
      )}
    </Group>
  )
}

const REASONS: Record<NonNullable<IntegrationCheck['reason']>, string> = {
  'answer-lost': 'The request arrived, but another answer came back.',
  refused: 'The request arrived and was refused: check the token of the front.',
  'not-forwarded': 'The site answered itself and sent nothing here.',
  unresolvable: 'The name has no address in the DNS.',
  'refused-address': 'The name leads to an address that is not public.',
  unreachable: 'The site takes no connection.',
  tls: 'The certificate of the site is not good for its name.',
  'timed-out': 'The site did not answer in 10 seconds.',
  redirect: 'The site redirects to another place.',
}

function checkWords({ reason, detail }: IntegrationCheck): string {
  if (reason === null) return 'A request as a crawler arrived here, and our page came back.'
  return detail === null ? REASONS[reason] : `${REASONS[reason]} (${detail})`
}

function SiteToken({ domain }: { domain: string }) {
  const create = useMutation({
    mutationFn: () => request<{ token: string }>('POST', `${domainUrl(domain)}/site-token`, { body: {} }),
    onError: (error) => notifyFailed('The token could not be created', error),
  })
  if (create.data !== undefined) {
    return (
      <Stack gap="xs">
        <CopyField label="Site token, shown only once" value={create.data.token} />
        <Note size="sm">A token before it is valid for 7 more days.</Note>
      </Stack>
    )
  }
  return (
    <Stack gap="xs">
      <Note size="sm">
        A front asks for pages with the site token of this domain. It is good for this domain’s pages only.
      </Note>
      <Group>
        <Button variant="default" size="xs" loading={create.isPending} onClick={() => create.mutate()}>
          Create site token
        </Button>
      </Group>
    </Stack>
  )
}
