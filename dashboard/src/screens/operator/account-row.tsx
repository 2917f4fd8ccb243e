import { Badge, Button, Group, Menu, NativeSelect, Table, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { accountsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { AccountInList, MadeLink } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { sayDone, sayFailed } from '../../parts/notifications.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count } from '../../parts/usage-bar.tsx'

type Change = {
  plan?: string
  role?: 'owner' | 'operator'
  suspended?: boolean
  /** Takes a change back: that is not offered to be taken back itself. */
  isUndo?: boolean
}

/** One account: who it is, and what an operator can change of it. */
export function AccountRow(props: {
  account: AccountInList
  plans: readonly string[]
  onMade: (made: { title: string } & MadeLink) => void
}) {
  const { account } = props
  const me = useMe()
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: ({ isUndo: _, ...body }: Change) =>
      request('PUT', `/api/operator/accounts/${account.id}`, { body }),
    onSuccess: async (_answer, { plan, role, suspended, isUndo }) => {
      // As it was before: a plan of less, or a role, is a slip of the hand away.
      const before = {
        ...(plan !== undefined && { plan: account.plan }),
        ...(role !== undefined && { role: account.role }),
      }
      sayDone(
        `${account.email} ${plan !== undefined ? `has the plan ${plan} now` : role !== undefined ? `is ${role} now` : 'is changed'}`,
        isUndo || suspended !== undefined ? undefined : () => change.mutate({ ...before, isUndo: true }),
      )
      await queries.invalidateQueries({ queryKey: accountsQuery.queryKey })
    },
    onError: (error) => sayFailed(`${account.email} stays as it was`, error),
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
