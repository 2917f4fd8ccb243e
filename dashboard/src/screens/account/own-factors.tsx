import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { encode } from 'uqr'
import { secondFactorQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { SecondFactor } from '../../api/types.ts'
import { CopyField, ShownOnce } from '../../parts/copy-field.tsx'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { CodeField } from './code-field.tsx'
import classes from './own-factors.module.css'
import { useFactorsChanged } from './use-factors-changed.ts'

type Opened = { kind: 'app'; secret: string; uri: string } | { kind: 'remove' | 'renew' }

/** The authenticator app and the recovery codes. */
export function OwnFactors() {
  const factors = useQuery(secondFactorQuery)
  const [opened, setOpened] = useState<Opened | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const close = () => setOpened(null)
  const changed = useFactorsChanged()
  const start = useMutation({
    mutationFn: () => request<{ secret: string; uri: string }>('POST', '/api/second-factor/totp'),
    onSuccess: (made) => setOpened({ kind: 'app', ...made }),
    onError: (error) => notifyFailed('The authenticator app was not set up', error),
  })
  return (
    <Section
      id="factors"
      title="Second factor"
      lead="A sign-in by password also needs a code of your authenticator app, or a passkey."
    >
      <Loaded query={factors} rows={2}>
        {(found) => (
          <Stack>
            <Required by={found.required_by} isMissing={!found.totp && found.passkeys.length === 0} />
            <Group justify="space-between">
              <Text size="sm">
                Authenticator app{' '}
                <Badge color={found.totp ? 'paint' : 'gray'}>{found.totp ? 'on' : 'off'}</Badge>
              </Text>
              {found.totp ? (
                <Button variant="default" size="xs" onClick={() => setOpened({ kind: 'remove' })}>
                  Remove the app
                </Button>
              ) : (
                <Button size="xs" loading={start.isPending} onClick={() => start.mutate()}>
                  Set up an app
                </Button>
              )}
            </Group>
            <RecoveryCodes factors={found} onRenew={() => setOpened({ kind: 'renew' })} />
          </Stack>
        )}
      </Loaded>
      {opened?.kind === 'app' && (
        <SetUpApp
          secret={opened.secret}
          uri={opened.uri}
          onClose={close}
          onDone={async (made) => {
            close()
            setCodes(made)
            await changed()
          }}
        />
      )}
      {opened?.kind === 'remove' && (
        <ConfirmDialog
          title="Remove the authenticator app?"
          label="Remove"
          onClose={close}
          run={async () => {
            await request('DELETE', '/api/second-factor/totp')
            await changed()
          }}
        >
          <Text size="sm">
            Sign-ins by password then need no code, unless you have a passkey. Accounts that require a second
            factor are closed to you until you set one up again.
          </Text>
        </ConfirmDialog>
      )}
      {opened?.kind === 'renew' && (
        <ConfirmDialog
          title="Make new recovery codes?"
          label="Make new codes"
          onClose={close}
          run={async () => {
            const { recovery_codes: made } = await request<{ recovery_codes: string[] }>(
              'POST',
              '/api/second-factor/recovery-codes',
            )
            setCodes(made)
            await changed()
          }}
        >
          <Text size="sm">The codes that you have now stop working.</Text>
        </ConfirmDialog>
      )}
      {codes !== null && <RecoveryCodesShown codes={codes} onClose={() => setCodes(null)} />}
    </Section>
  )
}

export function RecoveryCodesShown({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <ShownOnce
      title="Your recovery codes"
      warning="Keep them where you find them without your phone. Each lets you in once if you lose your second factor. They are shown only now."
      fields={[{ label: 'Recovery codes', value: codes.join('\n') }]}
      onClose={onClose}
    />
  )
}

function Required({ by, isMissing }: { by: readonly string[]; isMissing: boolean }) {
  if (by.length === 0) return null
  const whose = by.join(', ')
  return (
    <Note size="sm" role="status">
      {isMissing ? `Set one up to enter: ${whose}.` : `Required by: ${whose}.`}
    </Note>
  )
}

function RecoveryCodes({ factors, onRenew }: { factors: SecondFactor; onRenew: () => void }) {
  if (!factors.totp && factors.passkeys.length === 0) return null
  return (
    <Group justify="space-between">
      <Text size="sm">Recovery codes left: {factors.recovery_codes_left}</Text>
      <Button variant="default" size="xs" onClick={onRenew}>
        Make new codes
      </Button>
    </Group>
  )
}

function SetUpApp(props: {
  secret: string
  uri: string
  onClose: () => void
  onDone: (codes: readonly string[]) => void
}) {
  const [code, setCode] = useState('')
  const confirm = useMutation({
    mutationFn: () =>
      request<{ recovery_codes: string[] }>('POST', '/api/second-factor/totp/confirm', { body: { code } }),
    onSuccess: ({ recovery_codes: codes }) => props.onDone(codes),
    onError: () => setCode(''),
  })
  return (
    <FormDialog
      title="Set up an authenticator app"
      label="Turn it on"
      sent={confirm}
      onSubmit={() => confirm.mutate()}
      onClose={props.onClose}
    >
      <Text size="sm">
        Scan the picture with your authenticator app, or enter the key there. Then enter the code that the app
        shows. You are signed out in all other browsers.
      </Text>
      <QrCode text={props.uri} />
      <CopyField label="Key" value={props.secret} />
      <CodeField hasFocus value={code} onChange={setCode} />
    </FormDialog>
  )
}

/** Cameras need a quiet zone of 4 modules, and dark on light, in both colour schemes. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 4 })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg className={classes.qr} viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the key">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  )
}
