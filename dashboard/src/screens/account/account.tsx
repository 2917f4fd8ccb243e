import { Anchor, Badge, Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'

import { sessionsQuery } from '../../api/queries.ts'
import { renewals, request } from '../../api/request.ts'
import { switchAccount, useMe } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { count } from '../../format.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { type FactRow, Facts, Note, Page, Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { NewPassword, newPasswordRules } from './credentials.tsx'

export default function Account() {
  return (
    <Page title="Account">
      <div className="columns">
        <PlanFacts />
        <ChangePassword />
      </div>
      <Sessions />
    </Page>
  )
}

function PlanFacts() {
  const { email, role, plan } = useMe()
  const facts: FactRow[] = [
    ['Signed in as', email],
    ['Plan', plan.name],
    ['Sites', plan.site_limit === null ? 'no limit' : count(plan.site_limit)],
    ['Renders', `${count(plan.monthly_render_limit)} a month for each domain`],
    ['API keys', plan.api_keys ? 'yes' : 'no'],
    ['Webhooks', plan.webhooks ? 'yes' : 'no'],
  ]
  if (role === 'operator') facts.push(['Role', 'operator of this installation'])
  return (
    <Section title="Plan">
      <Facts rows={facts} />
      <Note size="sm">
        <Anchor component={Link} href={ROUTES.plan} inherit underline="always">
          See how much you use
        </Anchor>
        . The operator of this installation can change the plan.
      </Note>
    </Section>
  )
}

function ChangePassword() {
  const { email } = useMe()
  const queries = useQueryClient()
  const form = useForm({
    initialValues: { current: '', password: '', repeated: '' },
    validate: {
      current: (current) => (current === '' ? 'Enter your current password' : null),
      ...newPasswordRules,
    },
  })
  const change = useMutation({
    mutationFn: ({ current, password }: typeof form.values) =>
      renewals.renew(() =>
        request('PUT', '/api/password', { body: { current_password: current, new_password: password } }),
      ),
    onSuccess: async () => {
      form.reset()
      notifyDone('Password changed. You are signed out in all other browsers.')
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey })
    },
  })
  return (
    <Section title="Password" lead="A change signs you out in all other browsers.">
      <Form sent={change} onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack>
          {/* Tells password managers whose password it is. */}
          <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            {...form.getInputProps('current')}
          />
          <NewPassword form={form} />
          <Refusal error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              Change the password
            </Button>
          </Group>
        </Stack>
      </Form>
    </Section>
  )
}

function Sessions() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const sessions = useQuery(sessionsQuery)
  const [isLeaving, setLeaving] = useState(false)
  const end = useMutation({
    mutationFn: ({ id }: Session) => request('DELETE', `/api/sessions/${id}`),
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: (error) => notifyFailed('That browser is still signed in', error),
  })
  return (
    <Section
      title="Signed-in browsers"
      actions={
        <Button variant="default" size="xs" onClick={() => setLeaving(true)}>
          Sign out everywhere
        </Button>
      }
    >
      <Loaded query={sessions} rows={2}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Browser',
                cell: ({ user_agent, address }) => (
                  <>
                    <Text size="sm" fw={500} title={user_agent}>
                      {browserOf(user_agent)}
                    </Text>
                    <Note>from {address}</Note>
                  </>
                ),
              },
              { title: 'Signed in', cell: ({ created_at }) => <TimeText at={created_at} /> },
              {
                title: 'Actions',
                kind: 'action',
                cell: (session) =>
                  session.current ? (
                    <Badge>this browser</Badge>
                  ) : (
                    <RowButton label="Sign out there" onClick={() => end.mutate(session)} />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {isLeaving && (
        <ConfirmDialog
          title="Sign out everywhere?"
          label="Sign out"
          onClose={() => setLeaving(false)}
          run={async () => {
            await request('DELETE', '/api/sessions')
            switchAccount(queries, null)
            navigate(ROUTES.signIn)
          }}
        >
          <Text size="sm">
            All browsers, including this one, must sign in again. API keys and webhook tokens keep working.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

const BROWSERS = [
  [/\bEdgA?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const

const SYSTEMS = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/** Names a browser for its owner, such as `Firefox on Linux`. */
function browserOf(userAgent: string): string {
  const browser = nameIn(BROWSERS, userAgent) ?? 'Unknown browser'
  const system = nameIn(SYSTEMS, userAgent)
  return system === undefined ? browser : `${browser} on ${system}`
}

function nameIn(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}
