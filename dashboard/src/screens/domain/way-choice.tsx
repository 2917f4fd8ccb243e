import { Radio, Stack, Text } from '@mantine/core'
import { type FactRow, Facts, Note } from '../../parts/page.tsx'
import classes from './way-choice.module.css'

export type ChosenWay = 'dns' | 'middleware'

const CHOICES = [
  {
    value: 'dns',
    title: 'Change the DNS',
    text: 'One record leads all visitors to Prepaint, which hands people your site. It gets the certificate. Nothing to install; a DNS change takes minutes to hours.',
    facts: [
      ['You need', 'access to the DNS of the domain'],
      ['TLS', 'Prepaint gets and renews the certificate'],
      ['People', 'go through Prepaint to your server'],
      ['Time', 'minutes to hours, until the DNS has changed'],
    ],
  },
  {
    value: 'middleware',
    title: 'Keep the DNS and add a middleware',
    text: 'Your web server, CDN or application sends only crawlers to Prepaint. People and your certificate stay as they are. One file to change, undone at any time.',
    facts: [
      ['You need', 'access to your web server, CDN or application'],
      ['TLS', 'stays where it is'],
      ['People', 'reach your server as they do now'],
      ['Time', 'minutes, as soon as the file is in use'],
    ],
  },
] as const satisfies readonly { value: ChosenWay; title: string; text: string; facts: FactRow[] }[]

/** How crawlers reach Prepaint: two cards, of which one is chosen. */
export function WayChoice(props: {
  value: ChosenWay
  onChange: (way: ChosenWay) => void
  isBusy?: boolean
  /** What each needs and gives, instead of a text. */
  withFacts?: boolean
}) {
  return (
    <Radio.Group
      label="How crawlers reach Prepaint"
      value={props.value}
      onChange={(value) => props.onChange(value === 'middleware' ? 'middleware' : 'dns')}
    >
      <div className={classes.cards}>
        {CHOICES.map(({ value, title, text, facts }) => (
          <Radio.Card
            key={value}
            value={value}
            disabled={props.isBusy}
            aria-label={title}
            className={classes.card}
          >
            <Radio.Indicator mt={2} />
            <Stack gap={2}>
              <Text size="sm" fw={600}>
                {title}
              </Text>
              {props.withFacts === true ? <Facts rows={facts} /> : <Note>{text}</Note>}
            </Stack>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  )
}
