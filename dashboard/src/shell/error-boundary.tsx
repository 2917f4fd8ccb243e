import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { Component, type ReactNode, useEffect, useState } from 'react'

import { messageOf } from '../api/request.ts'
import { Page } from '../parts/page.tsx'
import { ROUTES } from '../route-map.ts'

/** `isAlone`: nothing is around the screen. */
type Props = { isAlone?: boolean; children: ReactNode }

/** Replaces a screen that failed: by a defect, without a connection, or because an upgrade removed its script. */
export class ErrorBoundary extends Component<Props, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    const failure = isMissingScript(error) ? <MissingScript /> : <Defect error={error} />
    return this.props.isAlone ? <main className="alone">{failure}</main> : failure
  }
}

/** Browsers have no code for it, only these messages of their own. */
function isMissingScript(error: unknown): boolean {
  return /dynamically imported module|importing a module script|preload/i.test(messageOf(error))
}

function Defect({ error }: { error: unknown }) {
  return (
    <Failure title="This screen could not be shown" colour="red">
      <Text size="sm">
        Your data is unchanged. Reload the page. If the error stays, report it to the operator:
      </Text>
      <Text size="sm" ff="monospace" className="break">
        {messageOf(error)}
      </Text>
      <Ways />
    </Failure>
  )
}

function Failure(props: { title: string; colour: string; children: ReactNode }) {
  return (
    <Page title={props.title}>
      <Alert color={props.colour} role="alert">
        <Stack gap="sm">{props.children}</Stack>
      </Alert>
    </Page>
  )
}

const RETRY_MS = 3_000

/** The script of a screen could not be loaded. The API says why: it answers if only this script is gone. */
function MissingScript() {
  const [state, setState] = useState<'asking' | 'upgraded' | 'lost'>('asking')
  useEffect(() => {
    if (state === 'upgraded') return
    const ask = async () => {
      const isThere = await doesApiAnswer()
      if (isThere && state === 'lost') location.reload()
      else setState(isThere ? 'upgraded' : 'lost')
    }
    if (state === 'asking') {
      void ask()
      return
    }
    const timer = setInterval(() => void ask(), RETRY_MS)
    return () => clearInterval(timer)
  }, [state])
  if (state === 'asking') return null
  if (state === 'lost') {
    return (
      <Failure title="Connection lost. Trying again…" colour="yellow">
        <Text size="sm">
          The screen is shown as soon as the server responds. Everything you saved is kept.
        </Text>
      </Failure>
    )
  }
  return (
    <Failure title="A newer version is available" colour="yellow">
      <Text size="sm">
        The dashboard was upgraded after you opened it. Reload it; everything you saved is kept.
      </Text>
      <Ways />
    </Failure>
  )
}

/** Any answer counts: even a refusal shows that the server is there. */
async function doesApiAnswer(): Promise<boolean> {
  try {
    await fetch('/api/session', { cache: 'no-store' })
    return true
  } catch {
    return false
  }
}

function Ways() {
  return (
    <Group>
      <Button size="xs" onClick={() => location.reload()}>
        Reload
      </Button>
      <Button size="xs" variant="default" onClick={() => location.assign(ROUTES.domains)}>
        Go to your domains
      </Button>
    </Group>
  )
}
