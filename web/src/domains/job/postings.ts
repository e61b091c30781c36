import { useQuery } from "@tanstack/react-query";
import { http } from "../../api/http.ts";
import { usePages } from "../../api/queries.ts";

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

export const usePostings = () => usePages<Posting>(["domain", "jobs"], "/jobs", { limit: "100" });

export const useReminders = () => usePages<Due>(["domain", "reminders"], "/reminders");

export const usePosting = (id: string) =>
  useQuery({
    queryKey: ["domain", "job", id],
    queryFn: () => http.get<PostingDetail>(`/jobs/${id}`),
  });
