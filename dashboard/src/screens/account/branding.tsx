import { Button, Checkbox, FileButton, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { BRAND_COLOUR, brandShades, contrast } from '@prepaint/contract/brand-colour.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { brandingQuery } from '../../api/branding-queries.ts'
import { request } from '../../api/request.ts'
import type { Branding } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import classes from './branding.module.css'

type Saved = { branding: Branding }

/** How the account looks to its clients. */
export default function BrandingSection({ account }: { account: string }) {
  const branding = useQuery(brandingQuery)
  return (
    <Section
      title="Branding"
      lead="Your name, logo and colour in this dashboard, on share links, in reports and in e-mails."
    >
      <Loaded query={branding}>
        {(shown) => (
          <Stack gap="lg">
            <Logo branding={shown} />
            <Look key={JSON.stringify({ ...shown, logo_url: null })} branding={shown} account={account} />
          </Stack>
        )}
      </Loaded>
    </Section>
  )
}

/** Keeps the answer of a change as what is known. */
function useKeep(): (saved: Saved) => void {
  const queries = useQueryClient()
  return ({ branding }) => queries.setQueryData(brandingQuery.queryKey, branding)
}

function Logo({ branding }: { branding: Branding }) {
  const keep = useKeep()
  const upload = useMutation({
    mutationFn: (file: File) => request<Saved>('PUT', '/api/account/branding/logo', { file }),
    onSuccess: (saved) => {
      keep(saved)
      notifyDone('The logo was changed')
    },
  })
  const remove = useMutation({
    mutationFn: () => request<Saved>('DELETE', '/api/account/branding/logo'),
    onSuccess: (saved) => {
      keep(saved)
      notifyDone('The logo was removed')
    },
    onError: (error) => notifyFailed('The logo was not removed', error),
  })
  const { logo_url: url, name } = branding
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Logo
      </Text>
      {url !== null && (
        <div className={classes.logo}>
          <img src={url} alt={name ?? 'Your logo'} />
        </div>
      )}
      <Group>
        <FileButton accept="image/png,image/webp" onChange={(file) => file !== null && upload.mutate(file)}>
          {(props) => (
            <Button {...props} variant="default" loading={upload.isPending}>
              {url === null ? 'Choose a logo' : 'Choose another logo'}
            </Button>
          )}
        </FileButton>
        {url !== null && (
          <Button variant="default" loading={remove.isPending} onClick={() => remove.mutate()}>
            Remove the logo
          </Button>
        )}
      </Group>
      <Refusal error={upload.error} />
      <Note>
        PNG or WebP, at most 256 KiB, and 1,024 pixels wide and high. Everybody who has its address can open
        it.
      </Note>
    </Stack>
  )
}

const isColour = (text: string) => BRAND_COLOUR.test(text.trim().toLowerCase())

function Look({ branding, account }: { branding: Branding; account: string }) {
  const keep = useKeep()
  const form = useForm({
    initialValues: {
      name: branding.name ?? '',
      colour: branding.colour ?? '',
      sender: branding.sender_name ?? '',
      showsPrepaint: branding.show_prepaint,
    },
    validate: {
      colour: (colour) =>
        colour.trim() === '' || isColour(colour) ? null : 'Enter a colour such as #0f6d5e',
      sender: (sender) => (/[<>"@\\]/.test(sender) ? 'Leave out < > " @ and \\' : null),
    },
  })
  const save = useMutation({
    mutationFn: ({ name, colour, sender, showsPrepaint }: typeof form.values) =>
      request<Saved>('PUT', '/api/account/branding', {
        body: {
          name: name.trim() || null,
          colour: colour.trim() || null,
          sender_name: sender.trim() || null,
          show_prepaint: showsPrepaint,
        },
      }),
    onSuccess: (saved) => {
      keep(saved)
      notifyDone('The branding was changed')
    },
  })
  const { colour, sender } = form.values
  return (
    <Form sent={save} onSubmit={form.onSubmit((values) => save.mutate(values))}>
      <Stack>
        <TextInput
          label="Name"
          description={`Shown instead of ${account}.`}
          maxLength={80}
          {...form.getInputProps('name')}
        />
        <Group align="end" gap="xs" wrap="nowrap">
          <TextInput
            label="Colour"
            description="Links and buttons take the nearest shade that can be read."
            placeholder="#0f6d5e"
            flex={1}
            {...form.getInputProps('colour')}
          />
          <input
            type="color"
            className={classes.picker}
            aria-label="Pick the colour"
            value={isColour(colour) ? colour.trim().toLowerCase() : '#0f6d5e'}
            onChange={(event) => form.setFieldValue('colour', event.currentTarget.value)}
          />
        </Group>
        {isColour(colour) && <Preview colour={colour.trim().toLowerCase()} />}
        <TextInput
          label="Sender of e-mails"
          description={
            sender.trim() === ''
              ? 'The name in From. The address stays that of the operator.'
              : `From: ${sender.trim()} <the operator’s address>`
          }
          maxLength={80}
          {...form.getInputProps('sender')}
        />
        <Checkbox
          label="Say that it is made with Prepaint"
          {...form.getInputProps('showsPrepaint', { type: 'checkbox' })}
        />
        <Refusal error={save.error} />
        <Group>
          <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
            Save branding
          </Button>
        </Group>
      </Stack>
    </Form>
  )
}

const SCHEMES = [
  { scheme: 'light', title: 'Light', ground: '#ffffff', text: '#17211f' },
  { scheme: 'dark', title: 'Dark', ground: '#181d1d', text: '#e4eae8' },
] as const

/** What becomes of the colour in each scheme. */
function Preview({ colour }: { colour: string }) {
  const shades = brandShades(colour)
  return (
    <section className={classes.previews} aria-label="Preview">
      {SCHEMES.map(({ scheme, title, ground, text }) => {
        const { text: link, fill } = shades[scheme]
        const isSame = link === colour && fill === colour
        return (
          <div key={scheme} className={classes.preview} style={{ background: ground, color: text }}>
            <span className={classes.scheme}>{title}</span>
            <span className={classes.link} style={{ color: link }}>
              A link
            </span>
            <span className={classes.button} style={{ background: fill }}>
              A button
            </span>
            <span className={classes.scheme}>
              {isSame ? colour : `${link}, ${fill}`} · {contrast(link, ground).toFixed(1)}:1
            </span>
          </div>
        )
      })}
    </section>
  )
}
