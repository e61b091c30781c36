import { useQuery } from "@tanstack/react-query";
import { http } from "../../api/http.ts";
import { usePages, useWhole } from "../../api/queries.ts";

/** The states of an application, as columns from left to right; null is none yet. */
export const STATUSES = [
  null,
  "saved",
  "applied",
  "interviewing",
  "offer",
  "rejected",
  "withdrawn",
] as const;
export type Status = (typeof STATUSES)[number];

export interface Posting {
  id: string;
  company: string;
  title: string;
  location: string | null;
  deadline: string | null;
  url: string | null;
  requirements: number;
  status: Status;
}

export interface PostingDetail extends Omit<Posting, "requirements"> {
  website: string | null;
  place: string | null;
  application: {
    id: string;
    status: Status;
    channel: string | null;
    applied_on: string | null;
  } | null;
  requirements: { id: string; kind: string; importance: string; text: string }[];
  interviews: {
    id: string;
    round: number;
    starts_at: string;
    mode: string | null;
    place: string | null;
  }[];
  reminders: { id: string; about: string; due_on: string; done_at: string | null }[];
  provenance: {
    message_id: string;
    received_at: string;
    source: string | null;
    proposal_id: string | null;
  }[];
}

/** Something with a day: a reminder, a deadline, an interview. */
export interface Due {
  id: string;
  kind: string;
  about: string;
  on: string;
  overdue: boolean;
  posting_id: string | null;
}

/** An application in a list, with its posting. */
export interface Application {
  id: string;
  posting_id: string;
  company: string;
  title: string;
  status: string;
  channel: string | null;
  applied_on: string | null;
  deadline: string | null;
  created_at: string;
}

/** How many applications got at least so far; a share is of the stage before. */
export interface Stage {
  stage: string;
  reached: number;
  of_previous: number | null;
  median_days: number | null;
}

export interface Funnel {
  applications: number;
  stages: Stage[];
  ended: Record<string, Record<string, number>>;
}

const PIECE = { limit: "200" };

export const usePostings = () => useWhole<Posting>(["domain", "jobs"], "/jobs", PIECE);

export const useApplications = () =>
  useWhole<Application>(["domain", "applications"], "/applications", PIECE);

export const useFunnel = () =>
  useQuery({
    queryKey: ["domain", "funnel"],
    queryFn: () => http.get<Funnel>("/jobs/funnel"),
  });

/** Keep the postings in which some words stand, wherever and however written. */
export function fitting(postings: readonly Posting[], words: string): Posting[] {
  const wanted = words.trim().toLocaleLowerCase();
  return postings.filter(({ title, company, location }) =>
    [title, company, location].some((each) => each?.toLocaleLowerCase().includes(wanted)),
  );
}

export const useReminders = () => usePages<Due>(["domain", "reminders"], "/reminders");

export const usePosting = (id: string) =>
  useQuery({
    queryKey: ["domain", "job", id],
    queryFn: () => http.get<PostingDetail>(`/jobs/${id}`),
  });
