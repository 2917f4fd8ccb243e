import {
  Anchor,
  Badge,
  Button,
  Group,
  PasswordInput,
  Stack,
  Table,
  Text,
  VisuallyHidden,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { Link, useLocation } from 'wouter'
import { sessionsQuery, startAnew } from '../../api/queries.ts'
import { renewals, request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { sayDone, sayFailed } from '../../parts/notifications.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Loading, Refusal, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { ROUTES } from '../../route-map.ts'
import { NewPassword, passwordProblem } from './new-password.tsx'
import { browserOf } from './user-agent.ts'

export function Account() {
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
  return (
    <Section title="Plan">
      <dl className="facts">
        <dt>Signed in as</dt>
        <dd>{email}</dd>
        <dt>Plan</dt>
        <dd>{plan.name}</dd>
        <dt>Sites</dt>
        <dd>{plan.site_limit === null ? 'as many as you want' : count(plan.site_limit)}</dd>
        <dt>Renders</dt>
        <dd>{count(plan.monthly_render_limit)} a month for each domain</dd>
        <dt>API keys</dt>
        <dd>{plan.api_keys ? 'yes' : 'no'}</dd>
        <dt>Webhooks</dt>
        <dd>{plan.webhooks ? 'yes' : 'no'}</dd>
        {role === 'operator' && (
          <>
            <dt>Role</dt>
            <dd>operator of this installation</dd>
          </>
        )}
      </dl>
      <Text size="sm" className="quiet">
        <Anchor component={Link} href={ROUTES.plan} inherit underline="always">
          How much of it you use
        </Anchor>
        . The operator of this installation can change the plan.
      </Text>
    </Section>
  )
}

function ChangePassword() {
  const { email } = useMe()
  const queries = useQueryClient()
  const form = useForm({
    initialValues: { current: '', password: '', repeated: '' },
    validate: {
      current: (current) => (current === '' ? 'Enter the password that you have now' : null),
      password: passwordProblem,
      repeated: (repeated, { password }) => (repeated === password ? null : 'The two are not the same'),
    },
  })
  const change = useMutation({
    mutationFn: ({ current, password }: typeof form.values) =>
      renewals.renew(() =>
        request('PUT', '/api/password', { body: { current_password: current, new_password: password } }),
      ),
    onSuccess: async () => {
      form.reset()
      sayDone('The password is changed. Everywhere else you are signed out.')
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey })
    },
  })
  return (
    <Section title="Password" lead="A change signs you out everywhere else.">
      <form noValidate onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack>
          {/* For password managers: whose password it is. */}
          <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            {...form.getInputProps('current')}
          />
          <NewPassword
            password={form.getInputProps('password')}
            repeated={form.getInputProps('repeated')}
            value={form.values.password}
          />
          <Refusal error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              Change the password
            </Button>
          </Group>
        </Stack>
      </form>
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
    onError: (error) => sayFailed('That place is still signed in', error),
  })
  return (
    <Section
      title="Where you are signed in"
      actions={
        <Button variant="default" size="xs" onClick={() => setLeaving(true)}>
          Sign out everywhere
        </Button>
      }
    >
      {sessions.data === undefined ? (
        sessions.error === null ? (
          <Loading rows={2} />
        ) : (
          <Trouble error={sessions.error} onRetry={() => sessions.refetch()} />
        )
      ) : (
        <div className="scroll-x">
          <Table verticalSpacing="sm" fz="sm" className="stacking">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Browser</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {sessions.data.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td>
                    <Text size="sm" fw={500} title={session.user_agent}>
                      {browserOf(session.user_agent)}
                    </Text>
                    <Text size="xs" className="quiet">
                      from {session.address}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <TimeText at={session.created_at} />
                  </Table.Td>
                  <Table.Td className="end">
                    {session.current ? (
                      <Badge variant="light" tt="none">
                        here
                      </Badge>
                    ) : (
                      <Button size="compact-sm" variant="default" onClick={() => end.mutate(session)}>
                        Sign out there
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
      {isLeaving && (
        <ConfirmDialog
          title="Sign out everywhere?"
          label="Sign out"
          onClose={() => setLeaving(false)}
          run={async () => {
            await request('DELETE', '/api/sessions')
            startAnew(queries, null)
            navigate(ROUTES.signIn)
          }}
        >
          <Text size="sm">
            All browsers, this one too, must sign in again. API keys and webhook tokens go on working.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
