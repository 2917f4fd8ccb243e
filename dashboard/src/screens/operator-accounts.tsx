import {
  Badge,
  Button,
  Group,
  Menu,
  NativeSelect,
  Stack,
  Table,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'

import { request } from '../api.ts'
import type { AccountInList, MadeLink } from '../api-types.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { sayDone, sayFailed } from '../parts/done.tsx'
import { Page } from '../parts/page.tsx'
import { count } from '../parts/quota-bar.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Loading, Refusal, Trouble } from '../parts/states.tsx'
import { TimeText } from '../parts/time-text.tsx'
import { accountsQuery } from '../queries.ts'
import { useMe } from '../signed-in.tsx'
import { NotFound } from './not-found.tsx'

type Made = { title: string } & MadeLink

const WARNINGS: Record<MadeLink['mail'], string> = {
  off: 'Copy it now, and give it only to whom it is for: it is shown this once, and works once.',
  sent: 'It has been sent by mail. Copy it only if that does not arrive: it is shown this once, and works once.',
  failed:
    'It could not be sent by mail; the log says why. Copy it now, and give it only to whom it is for: it is shown this once, and works once.',
}

export function Accounts() {
  const me = useMe()
  return me.role === 'operator' ? <AccountList /> : <NotFound />
}

function AccountList() {
  const accounts = useQuery(accountsQuery)
  const [search, setSearch] = useState('')
  const [isInviting, setInviting] = useState(false)
  const [made, setMade] = useState<Made | null>(null)
  const found = (accounts.data?.accounts ?? []).filter(({ email }) =>
    email.includes(search.trim().toLowerCase()),
  )
  return (
    <Page
      title="Accounts"
      lead="Who uses this installation. You see and change accounts; you cannot sign in as somebody else, nor see what their pages hold."
      actions={
        <Button onClick={() => setInviting(true)} disabled={accounts.data === undefined}>
          Invite somebody
        </Button>
      }
    >
      {accounts.data === undefined ? (
        accounts.error === null ? (
          <Loading />
        ) : (
          <Trouble error={accounts.error} onRetry={() => accounts.refetch()} />
        )
      ) : (
        <Stack>
          <TextInput
            aria-label="Search by e-mail"
            placeholder="Search by e-mail"
            type="search"
            maw={360}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
          <div className="sheet sheet-flush scroll-x">
            <Table verticalSpacing="sm" horizontalSpacing="md" fz="sm" className="stacking">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Account</Table.Th>
                  <Table.Th>Plan</Table.Th>
                  <Table.Th className="end">Domains</Table.Th>
                  <Table.Th className="end">Renders this month</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {found.map((account) => (
                  <AccountRow
                    key={account.id}
                    account={account}
                    plans={accounts.data.plans}
                    onMade={setMade}
                  />
                ))}
                {found.length === 0 && (
                  <Table.Tr>
                    <Table.Td colSpan={5} className="quiet">
                      No account has that in its e-mail.
                    </Table.Td>
                  </Table.Tr>
                )}
              </Table.Tbody>
            </Table>
          </div>
        </Stack>
      )}
      {isInviting && accounts.data !== undefined && (
        <Invite
          plans={accounts.data.plans}
          onClose={() => setInviting(false)}
          onMade={(link) => {
            setInviting(false)
            setMade(link)
          }}
        />
      )}
      {made !== null && (
        <ShownOnce
          title={made.title}
          warning={WARNINGS[made.mail]}
          fields={[
            { label: `Link, until ${new Date(made.link.expires_at).toLocaleString()}`, value: made.link.url },
          ]}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  )
}

function AccountRow(props: {
  account: AccountInList
  plans: readonly string[]
  onMade: (made: Made) => void
}) {
  const { account } = props
  const me = useMe()
  const queries = useQueryClient()
  const isUndo = useRef(false)
  const change = useMutation({
    mutationFn: (body: { plan?: string; role?: 'owner' | 'operator'; suspended?: boolean }) =>
      request('PUT', `/api/operator/accounts/${account.id}`, { body }),
    onSuccess: async (_answer, { plan, role, suspended }) => {
      // As it was before: a plan of less, or a role, is a slip of the hand away.
      const before = {
        ...(plan !== undefined && { plan: account.plan }),
        ...(role !== undefined && { role: account.role }),
      }
      sayDone(
        `${account.email} ${plan !== undefined ? `has the plan ${plan} now` : role !== undefined ? `is ${role} now` : 'is changed'}`,
        isUndo.current || suspended !== undefined
          ? undefined
          : () => {
              isUndo.current = true
              change.mutate(before)
            },
      )
      await queries.invalidateQueries({ queryKey: accountsQuery.queryKey })
    },
    onError: (error) => sayFailed(`${account.email} stays as it was`, error),
    onSettled: () => {
      isUndo.current = false
    },
  })
  const reset = useMutation({
    mutationFn: () => request<MadeLink>('POST', `/api/operator/accounts/${account.id}/reset-link`),
    onSuccess: (made) => props.onMade({ title: `A new password for ${account.email}`, ...made }),
    onError: (error) => sayFailed('No link was made', error),
  })
  const isMe = account.email === me.email
  const [isSuspending, setSuspending] = useState(false)
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={6}>
          <Text size="sm" fw={500} className="break">
            {account.email}
          </Text>
          {account.suspended && (
            <Badge variant="light" color="red" tt="none">
              suspended
            </Badge>
          )}
          {account.role === 'operator' && (
            <Badge variant="light" tt="none">
              operator
            </Badge>
          )}
        </Group>
        <Text size="xs" className="quiet">
          {account.can_sign_in ? 'made ' : 'cannot sign in yet, made '}
          <TimeText at={account.created_at} />
        </Text>
      </Table.Td>
      <Table.Td>
        <NativeSelect
          aria-label={`Plan of ${account.email}`}
          size="xs"
          data={[...props.plans]}
          value={account.plan}
          disabled={change.isPending}
          onChange={(event) => change.mutate({ plan: event.currentTarget.value })}
        />
      </Table.Td>
      <Table.Td className="number end" data-label="Domains">
        {count(account.domains)}
      </Table.Td>
      <Table.Td className="number end" data-label="Renders this month">
        {count(account.renders_used)}
      </Table.Td>
      <Table.Td className="end">
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button size="compact-sm" variant="default" aria-label={`More about ${account.email}`}>
              More
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => reset.mutate()}>Make a link for a new password</Menu.Item>
            <Menu.Item
              disabled={isMe}
              onClick={() => change.mutate({ role: account.role === 'operator' ? 'owner' : 'operator' })}
            >
              {account.role === 'operator' ? 'Make an ordinary owner' : 'Make an operator'}
            </Menu.Item>
            <Menu.Item
              disabled={isMe}
              {...(!account.suspended && { color: 'red' })}
              onClick={() => (account.suspended ? change.mutate({ suspended: false }) : setSuspending(true))}
            >
              {account.suspended ? 'Let it go on' : 'Suspend'}
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
        {isSuspending && (
          <ConfirmDialog
            title={`Suspend ${account.email}?`}
            label="Suspend the account"
            onClose={() => setSuspending(false)}
            run={() => change.mutateAsync({ suspended: true })}
          >
            <Text size="sm" component="div" ta="start">
              Until you let it go on:
              <ul>
                <li>Nobody signs in to it, and its API keys and webhook tokens are refused.</li>
                <li>Crawlers get the origin of its domains, as people do: no site goes down.</li>
                <li>What it has waiting in the queue is cancelled; what is stored stays.</li>
              </ul>
            </Text>
          </ConfirmDialog>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function Invite(props: { plans: readonly string[]; onClose: () => void; onMade: (made: Made) => void }) {
  const form = useForm({
    initialValues: { email: '', plan: props.plans[0] ?? '', role: 'owner' },
    validate: { email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : 'Enter an e-mail address') },
  })
  const invite = useMutation({
    mutationFn: ({ email, plan, role }: typeof form.values) =>
      request<MadeLink>('POST', '/api/operator/invitations', {
        body: { email: email.trim(), plan, role },
      }),
    onSuccess: (made, { email }) => props.onMade({ title: `An invitation for ${email.trim()}`, ...made }),
  })
  return (
    <Dialog title="Invite somebody" onClose={props.onClose}>
      <form noValidate onSubmit={form.onSubmit((values) => invite.mutate(values))}>
        <Stack>
          <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
          <NativeSelect label="Plan" data={[...props.plans]} {...form.getInputProps('plan')} />
          <NativeSelect
            label="Role"
            data={[
              { value: 'owner', label: 'Owner of sites' },
              { value: 'operator', label: 'Operator: may see and change all accounts' },
            ]}
            {...form.getInputProps('role')}
          />
          <Refusal error={invite.error} />
          <Group justify="end">
            <Button variant="default" onClick={props.onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={invite.isPending}>
              Make the link
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
