import { Badge, Button, Group, Menu, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { invitationsQuery, membersQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import { switchAccount, useMe } from '../../api/session.ts'
import type { Invitation, InvitedMember, Member, SignedInView } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { ScreenTabs } from '../../shell/screen-tabs.tsx'

const GrantDialog = lazy(() => import('./grant-dialog.tsx'))

type Opened = { kind: 'invite' } | { kind: 'change' | 'remove'; member: Member }

export default function Members() {
  const may = useRights()
  const { name } = useMe()
  const members = useQuery(membersQuery)
  const [opened, setOpened] = useState<Opened | null>(null)
  const [made, setMade] = useState<InvitedMember | null>(null)
  const close = () => setOpened(null)
  useAddressed('invite', () => may('inviteMember') && setOpened({ kind: 'invite' }))
  const showLink = (invited: InvitedMember) => {
    close()
    if (invited.link !== null) setMade(invited)
    else if (invited.mail === 'sent') notifyDone(`An invitation was sent to ${invited.invitation.email}`)
    else notifyFailed(`The letter to ${invited.invitation.email} could not be sent`, 'Send it again later.')
  }
  return (
    <Page
      title="Members"
      lead={`Who can see and change ${name}.`}
      actions={
        may('inviteMember') && <Button onClick={() => setOpened({ kind: 'invite' })}>Invite a person</Button>
      }
    >
      <ScreenTabs label="Members" of={ROUTES.members} />
      <div className="sheet sheet-flush">
        <Loaded query={members} rows={2}>
          {(list) => <MemberTable members={list} onOpen={setOpened} />}
        </Loaded>
      </div>
      {may('listInvitations') && <Invitations onMade={showLink} />}
      {opened !== null && opened.kind !== 'remove' && (
        <Suspense fallback={null}>
          <GrantDialog
            member={opened.kind === 'change' ? opened.member : null}
            onClose={close}
            onInvited={showLink}
          />
        </Suspense>
      )}
      {opened?.kind === 'remove' && <RemoveDialog member={opened.member} onClose={close} />}
      {made?.link != null && (
        <ShownOnce
          title={`An invitation for ${made.invitation.email}`}
          warning="Copy it now, and give it only to this person. It is shown only once, and works once, for 7 days."
          fields={[{ label: 'Link', value: made.link.url }]}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  )
}

function MemberTable(props: { members: readonly Member[]; onOpen: (opened: Opened) => void }) {
  const may = useRights()
  return (
    <DataTable
      rows={props.members}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Person',
          cell: ({ email, name, you, ways }) => (
            <>
              <Group gap={6}>
                <Text size="sm" fw={500} className="break">
                  {name ?? email}
                </Text>
                {you && <Badge>you</Badge>}
              </Group>
              {name !== null && <Note className="break">{email}</Note>}
              {ways?.length === 0 && <Note>cannot sign in yet</Note>}
            </>
          ),
        },
        { title: 'Role', kind: 'labelled', cell: (member) => <Grant {...member} /> },
        {
          title: 'Joined',
          kind: 'labelled',
          cell: ({ joined_at: joined }) => <TimeText at={joined} />,
        },
        {
          title: 'Last seen',
          kind: 'labelled',
          cell: ({ last_seen_at: seen }) =>
            seen === null ? <span className="quiet">not shown</span> : <TimeText at={seen} />,
        },
        {
          title: 'Actions',
          kind: 'action',
          cell: (member) =>
            (may('updateMember') || member.you) && <MemberMenu member={member} onOpen={props.onOpen} />,
        },
      ]}
    />
  )
}

function Grant({ role, domains }: Pick<Member, 'role' | 'domains'>) {
  if (domains === null) return <Text size="sm">{role}</Text>
  return (
    <>
      <Text size="sm">{role}</Text>
      <Note className="break">
        {domains.length <= 2 ? domains.join(', ') || 'no domain' : counted(domains.length, 'domain')}
      </Note>
    </>
  )
}

function MemberMenu({ member, onOpen }: { member: Member; onOpen: (opened: Opened) => void }) {
  const { id, email, role, you } = member
  const me = useMe()
  const may = useRights()
  const queries = useQueryClient()
  // Admins may not touch owners; the server refuses it too.
  const isMine = may('updateMember') && (role !== 'owner' || me.role === 'owner')
  const end = useMutation({
    mutationFn: () => request<{ ended: number }>('DELETE', `/api/members/${id}/sessions`),
    onSuccess: async ({ ended }) => {
      notifyDone(`${email}: ${counted(ended, 'session')} ended in this account`)
      await queries.invalidateQueries({ queryKey: membersQuery.queryKey })
    },
    onError: (error) => notifyFailed('No session was ended', error),
  })
  if (!isMine && !you) return null
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button size="compact-sm" variant="default" aria-label={`Actions for ${email}`}>
          Actions
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {isMine && <Menu.Item onClick={() => onOpen({ kind: 'change', member })}>Change the role</Menu.Item>}
        {isMine && !you && <Menu.Item onClick={() => end.mutate()}>End sessions in this account</Menu.Item>}
        <Menu.Item color="red" onClick={() => onOpen({ kind: 'remove', member })}>
          {you ? 'Leave the account' : 'Remove'}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, email, you } = member
  const { name } = useMe()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const leave = async () => {
    await request('DELETE', '/api/members/me')
    switchAccount(queries, await request<SignedInView>('GET', '/api/session'))
    navigate(ROUTES.domains)
  }
  const remove = async () => {
    await request('DELETE', `/api/members/${id}`)
    notifyDone(`${email} is no longer a member`)
    await queries.invalidateQueries({ queryKey: membersQuery.queryKey })
  }
  return (
    <ConfirmDialog
      title={you ? `Leave ${name}?` : `Remove ${email}?`}
      label={you ? 'Leave' : 'Remove'}
      run={you ? leave : remove}
      onClose={onClose}
    >
      <Text size="sm">
        {you ? 'You can' : 'This person can'} no longer see or change this account, from the next request on.
        API keys that {you ? 'you' : 'the person'} made stay: they belong to the account.
      </Text>
    </ConfirmDialog>
  )
}

function Invitations({ onMade }: { onMade: (made: InvitedMember) => void }) {
  const invitations = useQuery(invitationsQuery)
  const queries = useQueryClient()
  const reload = () => queries.invalidateQueries({ queryKey: invitationsQuery.queryKey })
  const resend = useMutation({
    mutationFn: ({ id }: Invitation) => request<InvitedMember>('POST', `/api/invitations/${id}/resend`),
    onSuccess: async (made) => {
      onMade(made)
      await reload()
    },
    onError: (error) => notifyFailed('The invitation was not sent again', error),
  })
  const revoke = useMutation({
    mutationFn: ({ id }: Invitation) => request('DELETE', `/api/invitations/${id}`),
    onSuccess: async (_answer, { email }) => {
      notifyDone(`The invitation of ${email} is revoked`)
      await reload()
    },
    onError: (error) => notifyFailed('The invitation was not revoked', error),
  })
  return (
    <Section title="Invitations" lead="They work once, for 7 days.">
      <Loaded query={invitations} rows={2}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            empty={<Note size="sm">No invitations wait.</Note>}
            columns={[
              {
                title: 'Person',
                cell: ({ email, invited_by: by }) => (
                  <>
                    <Text size="sm" fw={500} className="break">
                      {email}
                    </Text>
                    <Note className="break">invited by {by}</Note>
                  </>
                ),
              },
              { title: 'Role', kind: 'labelled', cell: (invitation) => <Grant {...invitation} /> },
              {
                title: 'Expires',
                kind: 'labelled',
                cell: ({ state, expires_at: at }) =>
                  state === 'expired' ? <Badge color="gray">expired</Badge> : <TimeText at={at} />,
              },
              {
                title: 'Actions',
                kind: 'action',
                cell: (invitation) => (
                  <Group gap="xs" justify="end">
                    <RowButton
                      label="New link"
                      subject={invitation.email}
                      onClick={() => resend.mutate(invitation)}
                    />
                    <RowButton
                      label="Revoke"
                      subject={invitation.email}
                      onClick={() => revoke.mutate(invitation)}
                    />
                  </Group>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
