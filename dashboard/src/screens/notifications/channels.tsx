import { Alert, Anchor, Badge, Button, Checkbox, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { INCIDENT_KINDS } from '../../../../src/notifications/kinds.ts'
import { channelsQuery } from '../../api/notification-queries.ts'
import { request } from '../../api/request.ts'
import type { Channels } from '../../api/types.ts'
import { notifyDone } from '../../parts/notifications.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { Endpoints } from './endpoints.tsx'
import { kindTitle } from './incidents.tsx'

type Email = Channels['emails'][number]

const STATES = {
  waiting: { color: 'yellow', label: 'Waits for its confirmation' },
  confirmed: { color: 'paint', label: 'Confirmed' },
  unsubscribed: { color: 'gray', label: 'Unsubscribed' },
  refused: { color: 'red', label: 'Refused by the mail server' },
} as const

export default function Notifications() {
  const channels = useQuery(channelsQuery)
  return (
    <Page
      title="Notifications"
      lead={
        <>
          Who is told when something is wrong. See also the{' '}
          <Anchor component={Link} href={ROUTES.report} underline="always">
            weekly report
          </Anchor>
          .
        </>
      }
    >
      <Loaded query={channels}>
        {(data) => <Emails key={JSON.stringify(data)} {...data} reread={channels.refetch} />}
      </Loaded>
      <Endpoints />
    </Page>
  )
}

function Emails({ emails: stored, by_mail: byMail, reread }: Channels & { reread: () => unknown }) {
  const [emails, setEmails] = useState<Email[]>(stored)
  const [added, setAdded] = useState('')
  const save = useMutation({
    mutationFn: (list: Email[]) =>
      request('PUT', '/api/notifications', {
        body: { emails: list.map(({ email, kinds, weekly_report }) => ({ email, kinds, weekly_report })) },
      }),
    onSuccess: async () => {
      await reread()
      notifyDone('Saved')
    },
  })
  const change = (email: string, by: Partial<Email>) =>
    setEmails(emails.map((each) => (each.email === email ? { ...each, ...by } : each)))
  const add = () => {
    const email = added.trim().toLowerCase()
    if (email === '') return
    save.mutate([...emails, { email, kinds: INCIDENT_KINDS, weekly_report: false, state: 'waiting' }])
  }
  return (
    <Section
      title="E-mail"
      lead="What happens within a minute is one e-mail. New addresses get a link to confirm."
    >
      {!byMail && (
        <Alert color="yellow">The operator has configured no mail server: no e-mail is sent.</Alert>
      )}
      {emails.map(({ email, kinds, weekly_report: report, state }) => (
        <fieldset key={email} className="fields">
          <legend>
            {email} <Badge color={STATES[state].color}>{STATES[state].label}</Badge>
          </legend>
          <Checkbox.Group value={kinds} onChange={(chosen) => change(email, { kinds: chosen })}>
            <Group gap="sm" mb="sm">
              {INCIDENT_KINDS.map((kind) => (
                <Checkbox key={kind} size="xs" value={kind} label={kindTitle(kind)} />
              ))}
            </Group>
          </Checkbox.Group>
          <Group gap="sm">
            <Checkbox
              size="xs"
              label="Weekly report"
              checked={report}
              onChange={({ currentTarget: { checked } }) => change(email, { weekly_report: checked })}
            />
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Remove ${email}`}
              onClick={() => setEmails(emails.filter((each) => each.email !== email))}
            >
              Remove
            </Button>
          </Group>
        </fieldset>
      ))}
      {emails.length === 0 && <Text size="sm">No address receives e-mail.</Text>}
      <Group align="end">
        <TextInput
          type="email"
          label="Another address"
          value={added}
          onChange={({ currentTarget: { value } }) => setAdded(value)}
        />
        <Button variant="default" onClick={add} disabled={added.trim() === ''}>
          Add
        </Button>
        <Button loading={save.isPending} onClick={() => save.mutate(emails)}>
          Save
        </Button>
      </Group>
      <Refusal error={save.error} />
    </Section>
  )
}
